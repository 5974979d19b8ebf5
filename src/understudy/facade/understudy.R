# Data frames for Understudy, and back. In R:  us <- reticulate::import("understudy"); source(us$r_functions())
#
# reticulate's own conversion turns a missing integer into -2147483648 and a missing logical into TRUE, stops at a
# missing day, and drops haven's labels. These two functions keep all of them, and need neither NumPy nor pandas.

# A data frame or tibble as a table that every function of Understudy takes.
as_understudy <- function(frame) {
  if (!is.data.frame(frame)) stop("as_understudy() takes a data frame; this is a ", class(frame)[1], call. = FALSE)
  columns <- lapply(names(frame), function(name) .understudy_column(name, frame[[name]]))
  mark <- attr(frame, "understudy")
  reticulate::import("understudy.facade.r_frames")$from_r(columns, if (is.null(mark)) "" else mark)
}

# A release, the figures of us$infer(), or an Arrow table as a data frame: factors with their levels, days, numbers,
# and haven's labelled vectors where the codebook has labels of codes (factors of the labels without haven).
as_r <- function(what) {
  handed <- reticulate::import("understudy.facade.r_frames")$for_r(what)
  columns <- lapply(handed$columns, .understudy_vector)
  names(columns) <- vapply(handed$columns, function(column) column$name, "")
  frame <- as.data.frame(columns, stringsAsFactors = FALSE, optional = TRUE)
  if (nzchar(handed$mark)) attr(frame, "understudy") <- handed$mark
  frame
}

.understudy_column <- function(name, x) {
  kind <- .understudy_kind(name, x)
  column <- list(name = name, kind = kind, label = as.character(attr(x, "label", exact = TRUE))[1])
  if (is.na(column$label)) column$label <- ""
  if (inherits(x, "haven_labelled")) {
    column <- c(column, .understudy_labels(x))
    bare <- as.vector(unclass(x))
  } else if (is.factor(x)) {
    column$levels <- as.list(levels(x))
    column$ordered <- is.ordered(x)
    bare <- as.character(x)
  } else if (kind == "day") {
    bare <- as.integer(floor(as.numeric(x)))
  } else if (kind == "moment") {
    # the time of day as it is shown, in whatever zone that is
    x <- as.POSIXct(x)
    bare <- round(1000 * as.numeric(as.POSIXct(format(x, "%Y-%m-%d %H:%M:%OS3"), tz = "UTC")))
  } else {
    bare <- as.vector(unclass(x))
  }
  missing <- is.na(bare)
  bare[missing] <- switch(kind, text = "", flag = FALSE, 0)
  if (kind == "whole") bare <- as.integer(bare)
  if (kind == "text") bare <- enc2utf8(as.character(bare))
  column$values <- bare
  column$missing <- which(missing) - 1L
  column
}

.understudy_kind <- function(name, x) {
  known <- c("factor", "ordered", "haven_labelled", "haven_labelled_spss", "vctrs_vctr", "character", "integer",
             "double", "numeric", "logical", "Date", "POSIXct", "POSIXt", "POSIXlt", "difftime", "hms", "AsIs",
             "labelled", "IDate")
  strange <- setdiff(class(x), known)
  if (length(strange) || is.list(x) && !inherits(x, "POSIXlt") || !is.null(dim(x)))
    stop("the column '", name, "' is a ", class(x)[1], "; turn it into numbers, texts, a factor or days first",
         call. = FALSE)
  if (is.factor(x) || is.character(x)) return("text")
  if (inherits(x, "Date")) return("day")
  if (inherits(x, "POSIXt")) return("moment")
  if (is.logical(x)) return("flag")
  if (is.integer(x)) return("whole")
  "number"
}

.understudy_labels <- function(x) {
  labels <- attr(x, "labels", exact = TRUE)
  told <- list()
  if (length(labels)) {
    codes <- as.list(unname(as.vector(unclass(labels))))
    if (is.double(labels)) {
      tags <- .understudy_tags(labels)
      codes[!is.na(tags)] <- paste0(".", tags[!is.na(tags)])
      usable <- !is.na(labels) | !is.na(tags)
    } else {
      usable <- !is.na(labels)
    }
    told$codes <- codes[usable]
    told$meanings <- as.list(names(labels)[usable])
  }
  if (!is.null(attr(x, "na_values"))) told$missing_codes <- as.list(attr(x, "na_values"))
  if (!is.null(attr(x, "na_range"))) told$missing_range <- as.list(attr(x, "na_range"))
  if (is.double(x)) {
    tags <- .understudy_tags(x)
    if (any(!is.na(tags))) {
      told$tagged <- as.list(which(!is.na(tags)) - 1L)
      told$tags <- as.list(tags[!is.na(tags)])
    }
  }
  told
}

# The letters of Stata's and SAS's missing values; only haven can tell them apart.
.understudy_tags <- function(x) {
  if (!anyNA(x) || !requireNamespace("haven", quietly = TRUE)) return(rep(NA_character_, length(x)))
  haven::na_tag(as.vector(unclass(x)))
}

.understudy_vector <- function(column) {
  x <- unlist(column$values)
  if (is.null(x)) x <- switch(column$kind, text = character(), flag = logical(), whole = integer(), numeric())
  gone <- unlist(column$missing) + 1L
  x[gone] <- NA
  if (column$kind == "day") return(as.Date(x, origin = "1970-01-01"))
  if (column$kind == "moment") return(as.POSIXct(x / 1000, origin = "1970-01-01", tz = "UTC"))
  label <- column$label
  if (!is.null(column$codes)) {
    codes <- unlist(column$codes)
    if (requireNamespace("haven", quietly = TRUE)) {
      names(codes) <- unlist(column$meanings)
      return(haven::labelled(x, labels = codes, label = label))
    }
    x <- factor(x, levels = codes, labels = unlist(column$meanings), ordered = isTRUE(column$ordered))
  } else if (!is.null(column$levels)) {
    x <- factor(x, levels = unlist(column$levels), ordered = isTRUE(column$ordered))
  }
  if (!is.null(label)) attr(x, "label") <- label
  x
}

# When R ends, Python tidies up: private folders with confidential rows are removed, engines are closed.
if (is.null(getOption("understudy.ends"))) {
  options(understudy.ends = TRUE)
  reg.finalizer(globalenv(), function(...) try(reticulate::import("understudy.facade.r_frames")$end_with_r(), TRUE),
                onexit = TRUE)
}
